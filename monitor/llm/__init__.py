"""Language models: clients, the protocol, parsed answers, budgets and prompts."""
