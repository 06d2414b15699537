"""Questions that a learner meets again: at the start of a notebook, and at its end.

Reading order: `question.py` (a question), `choice_card.py` (one with options),
`choosing.py` (which ones a learner needs), `questions/` (all of them), `bank.py` (how
they are found), `rounds.py` (the cards on the page: `recall` and `exit_ticket`).
"""
