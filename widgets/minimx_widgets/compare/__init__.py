"""Two runs compared: what their sides are, what differs, and the controls beside them.

Reading order: `sides.py` (a record, a file or a replay as one side), `replayed.py` (a
replay as a record, for timelines), `differences.py` (figures and operations), then the
widget `board.py`. `ABCompare` in `views/ab_compare.py` puts them together; `in_lab.py`
makes one from a knob of a lab.
"""
