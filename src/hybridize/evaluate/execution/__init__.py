"""Running many tasks: here, in processes of this machine, or on a Dask cluster, behind one interface."""
