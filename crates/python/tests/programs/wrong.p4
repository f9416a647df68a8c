// A program with an error, where it has the macros WIDTH and FLAG.

#include <core.p4>
#include <v1model.p4>

#if FLAG == 1
header number_t { bit<WIDTH> value; }
#endif
struct headers_t { number_t number; }
struct metadata_t { }

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { h.number = nothing; }
}
