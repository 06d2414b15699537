"""A step of a store as pictures: pure functions from predictions and records.

trial       what is asked of the simulation, and its answer
workloads   networks to try before anything was recorded
layout      places, switches and links in the unit square
scene       a prediction as what is drawn: links with loads, rows of bars
measured    the same of a record
scaling     the curve to 4,096 workers, computed in the background
text        tables, and what the page receives
picture     the static picture
"""
