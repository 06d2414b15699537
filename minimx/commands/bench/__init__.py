"""The performance tables of MXNet's document, measured on this machine.

    cells = run(Plan("score", ("alexnet",), (1, 2, 4)))   # in processes of their own
    save("mine.json", Result(describe(), plan, cells))

`document` has the document's numbers, `fit` the law behind a column, `cell` is what a
child process does, `run` starts the children, `result` keeps and compares, `table`
writes it down. The command is `minimx bench`.
"""
