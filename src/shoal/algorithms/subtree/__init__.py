"""Full-subtree methods: each value has one node, the same for all values below it."""
