"""How functions of `mx.np` are called: arguments, types, NumPy's own functions."""
