"""The language server: the analysis behind an editor (docs/editors.md).

The server's process speaks with the client and holds its documents; it never analyzes. What takes time runs in forks of
a process of its own (`host`), one for each job, which is killed when a document changes and ends with the server.
"""
