"""Jobs of several processes, started from a notebook or a program.

    with mx.cluster(n=4) as cluster:
        results = cluster.run(train, steps=100)     # on every rank; what each returned
    cluster.record                                  # all ranks in one timeline

Reading order: `cluster.py` (what a user calls), `ranks.py` (the processes, from the
side that starts them), `worker.py` (what each of them runs), `run.py` (one run, from
what the ranks send), `live.py` (what is shown meanwhile), `engines.py` (the same on
engines of ipyparallel).

Functions are shipped with cloudpickle, over sockets of the file system in a folder of
this user, authenticated by a key that only this job knows.
"""
