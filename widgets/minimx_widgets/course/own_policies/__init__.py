"""Notebook 16: bring your own policy.

    serving      requests sent through the real pool under any policy
    exercises    what is wrong with an attempt, and which idea to look at again
    claims       what the documents say of pools, and verdicts that are computed

Checks, scores and tables of scores are `minimx.policies`; nothing here decides.
"""
