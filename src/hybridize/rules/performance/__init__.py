"""Performance: retracing, missing or useless graphs (HY1xx)."""
