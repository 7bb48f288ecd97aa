"""The report of a run, for people who open a page: what happened, why, who allowed it, and whether the record is whole.

One model (``model``), made from the journal and the tables alone (``reading``), and three writers: a page (``html_page``),
Markdown and JSON. An index stands over all runs of a journal. It decides nothing.
"""
