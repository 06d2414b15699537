"""What an instructor needs: editions of the course, and grading.

Reading order: `exercises.py` (which cells are exercises, and for how many points),
`editions.py` (the course without answers, and with all of them), `grading/` (what
learners handed in, judged in processes that may do no harm).
"""
