"""The workbench in a browser, and the trusted server: pages, an API for programs, accounts and jobs."""
