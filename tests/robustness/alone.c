/* What headers.cmake includes a header in front of: ISO C wants a declaration. */
extern int gops_test_alone;
