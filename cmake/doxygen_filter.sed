# A comment that starts a line documents what follows it, or the file when it is the first; one
# that follows code documents that code.
1s|^/\*|/** @file|
s|^( *)/\*([^*]\|$)|\1/**\2|
s|([^ ].*[^ /]) +/\* |\1 /**< |
