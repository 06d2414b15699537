"""What a notebook of the course is made of, besides prose: predictions, hints, checks.

`PredictCard` asks for a number before it shows one. `hints` unfold one by one. A check
says what was expected, what was seen and which idea to look at again.
"""

from minimx_widgets.course.cards import PredictCard
from minimx_widgets.course.checks import Feedback, check
from minimx_widgets.course.text import hints, read_core, verdicts

__all__ = ["Feedback", "PredictCard", "check", "hints", "read_core", "verdicts"]
