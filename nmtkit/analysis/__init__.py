"""What translations do well and badly, line by line and by groups of lines. Imports no torch."""
