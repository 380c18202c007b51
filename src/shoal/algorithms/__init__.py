"""Methods: each puts records in groups, or says how to generalise them; none of them judges or writes."""
