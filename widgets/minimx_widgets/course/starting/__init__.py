"""The start page of the course: what to do next, how far you are, what is installed.

Reading order:
    notebooks    what lies in a learner's folder, and what its ledger says of it
    pictures     a small picture for each notebook, out of its stored outputs
    page         all of it as HTML and as plain text
    writing      `start.ipynb`, which `minimx lab` writes and opens
"""

from minimx_widgets.course.starting.page import start_page

__all__ = ["start_page"]
