"""Who may use which address? One table, endpoint × role × scope; what is not in it is denied."""
