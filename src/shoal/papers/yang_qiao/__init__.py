"""Yang & Qiao: random anonymisation."""
