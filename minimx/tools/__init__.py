"""Parts that several rooms use: progress bars, drawings, a watch for NaN."""
