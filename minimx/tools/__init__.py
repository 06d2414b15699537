"""Parts that several folders use: progress bars, drawings, a watch for NaN."""
