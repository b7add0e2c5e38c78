"""Every interleaving of two or three operations on real SQLite connections, judged by the model.

Each operation is a lane that gives its turn up before each statement; a search decides who goes
next, and runs one schedule of each class of those that can't be told apart. Each run is judged by
the linearizability checker, and the invariants at every turn by an observer.

What is assumed: SQLite does a statement at a time, as it does under its locks; the operations have
nothing in common but the files (no two act for one worker).
Not here: real processes and real time, exits inside a statement, power loss.

Reading hint: `access` (which statements can change places), `lanes`, `runner`, `search`, `judge`,
then `pairs`, `plans` and `engine` for what a profile covers, and `reads` for readers beside them.
"""
