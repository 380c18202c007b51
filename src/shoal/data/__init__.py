"""Tables as they are read: columns, hierarchies, roles, codes and what is counted of them."""
