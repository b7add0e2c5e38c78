"""The explorer of `admit-one play`: the model itself, behind a page on the loopback address.

Reading hint: `beside` (a mutant next to the model), `board` (what is played, and where one stands),
`address` (a trace as a few letters), `journeys` (the shortest way to a case), `decision` (the code
that ran), `picture*` and `page` (what is shown), `application` (the page as a web application),
`server`.

Nothing here decides what a call does: each outcome on the page comes from a step of the model.
"""
