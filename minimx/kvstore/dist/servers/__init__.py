"""Stores whose values are kept by servers: processes of their own, or in the workers.

Reading order: `server.py` (what a server does with requests), `reliable.py` (messages
that get lost), `post.py` (messages over MPI, urgent ones first), `service.py` (between
the threads), `on_servers.py` and `p3.py` (what a user calls). Around them: `known.py`
(what a worker knows of a key), `asking.py` (requests that wait for their answers) and
`states.py` (the optimizer, as a worker sees it).
"""
