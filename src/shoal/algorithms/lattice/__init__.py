"""Full-domain methods: each searches the lattice of one level a column."""
