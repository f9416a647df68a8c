// The core library of P4_16 (specification version 1.2.4, appendix "P4 core library").

#ifndef _CORE_P4_
#define _CORE_P4_

// What a parser can fail with. Programs and architectures may add members.
error {
    NoError,
    PacketTooShort,         // `extract`, `lookahead` or `advance` beyond the end of the packet
    NoMatch,                // a `select` without a matching case
    StackOutOfBounds,       // an element of a header stack that does not exist
    HeaderTooShort,         // more bits than a `varbit` field holds
    ParserTimeout,          // the parser ran for too long
    ParserInvalidArgument   // an argument that the target does not support
}

// The packet on its way in.
extern packet_in {
    // Reads a header of fixed size and moves on.
    void extract<T>(out T hdr);
    // Reads a header with one `varbit` field, of which so many bits are there.
    void extract<T>(out T variableSizeHeader,
                    in bit<32> variableFieldSizeInBits);
    // Reads without moving on.
    T lookahead<T>();
    // Skips so many bits.
    void advance(in bit<32> sizeInBits);
    // The packet's length in bytes.
    bit<32> length();
}

// The packet on its way out.
extern packet_out {
    // Appends a header if it is valid; a stack, union or struct element by element.
    void emit<T>(in T hdr);
}

// Goes to `reject` with this error unless the condition holds. Only in parsers.
extern void verify(in bool check, in error toSignal);

// Does nothing.
@noWarn("unused")
action NoAction() {}

// How table keys match everywhere. Architectures add others.
match_kind {
    exact,
    ternary,
    lpm
}

// Compilation fails, with this message, unless the condition holds. The value is the condition.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif  // _CORE_P4_
