"""What runs inside the user's interpreter, around the user's own program.

It stands alone: nothing of hybridize and nothing but the standard library is imported here (TensorFlow and NumPy later,
as the program has them), and any Python from 3.9 on will do. Modules import each other relatively: the package goes by
another name there (`__main__.NAME`).
"""
