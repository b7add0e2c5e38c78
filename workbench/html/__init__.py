"""Pages that open from disk: a trace to step through, a history, and what a search has seen.

Each page is one file with its style and its script in it. It loads nothing, and its policy forbids
it to: only the style and the script whose digests it names may run. Everything that comes from a
trace is text (`markup` escapes it), and nothing in it is obeyed.

The words are those of the text export. Reading order: `markup`, `page`, `telling` (what there is
to show), `rails` (lanes), `trace_parts` and `trace_page`; `layers`, `state_graph`, `graph_page`.
"""
