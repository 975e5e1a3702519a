"""The only room that executes user code: programs run as they are and with their conversions, and are compared.

TensorFlow is imported in the children alone (`guest`), never here.
"""
