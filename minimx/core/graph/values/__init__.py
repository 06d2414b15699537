"""What a graph is: nodes, what is known of their outputs, and files of them."""
