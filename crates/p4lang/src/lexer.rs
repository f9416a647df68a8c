//! The lexer, which splits source text into tokens for both the preprocessor and the parser.
//!
//! For the preprocessor, a token records whether it is the first of its line and whether white
//! space precedes it. The lexer never fails. Text that is not P4 becomes a [`TokenKind::Unknown`]
//! token or a number that cannot be parsed, which causes an error only if it reaches the parser,
//! because skipped `#if` branches, macro bodies and annotations may contain any text. `>` is always
//! a separate token, because a type such as `list<list<bit>>` needs two of them. Where an operator
//! may occur, the parser joins adjacent ones to `>>`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::source::{FileId, Span};

/// An interned string, represented by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(u32);

impl Symbol {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A table of interned strings, in which equal strings have the same [`Symbol`].
#[derive(Debug, Default)]
pub(crate) struct Interner {
    by_text: HashMap<Arc<str>, Symbol>,
    texts: Vec<Arc<str>>,
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.by_text.get(text) {
            return *symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.by_text.insert(text, symbol);
        symbol
    }

    /// Returns the symbol of `text`, or `None` if the text has not been interned.
    pub(crate) fn get(&self, text: &str) -> Option<Symbol> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> Arc<str> {
        self.texts.get(symbol.index()).cloned().unwrap_or_default()
    }

    pub(crate) fn str(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.index()).map_or("", |text| text)
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
}

macro_rules! token_kinds {
    (
        keywords { $($keyword:ident $keyword_text:literal,)* }
        punctuation { $($mark:ident $mark_text:literal,)* }
    ) => {
        /// The kind of a token.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum TokenKind {
            /// An identifier that is not a keyword.
            Identifier,
            /// A digit and the digits, letters and underscores that follow it.
            Number,
            /// A string literal with its closing quote.
            String,
            /// The opening quote of a string literal that is not closed.
            UnterminatedString,
            /// The start of a block comment that is not closed.
            UnterminatedComment,
            /// Any other character.
            Unknown,
            /// The end of the text.
            End,
            $($keyword,)*
            $($mark,)*
        }

        impl TokenKind {
            /// Returns the text of a keyword or punctuation mark, or `None` for other kinds.
            pub(crate) fn text(self) -> Option<&'static str> {
                match self {
                    $(Self::$keyword => Some($keyword_text),)*
                    $(Self::$mark => Some($mark_text),)*
                    _ => None,
                }
            }

            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(Self::$keyword)|*)
            }
        }

        fn keyword(text: &str) -> Option<TokenKind> {
            match text {
                $($keyword_text => Some(TokenKind::$keyword),)*
                _ => None,
            }
        }
    };
}

token_kinds! {
    keywords {
        Abstract "abstract",
        Action "action",
        Actions "actions",
        Apply "apply",
        Bit "bit",
        Bool "bool",
        Break "break",
        Const "const",
        Continue "continue",
        Control "control",
        Default "default",
        Else "else",
        Entries "entries",
        Enum "enum",
        Error "error",
        Exit "exit",
        Extern "extern",
        False "false",
        For "for",
        Header "header",
        HeaderUnion "header_union",
        If "if",
        In "in",
        InOut "inout",
        Int "int",
        Key "key",
        List "list",
        MatchKind "match_kind",
        Out "out",
        Package "package",
        Parser "parser",
        Priority "priority",
        Return "return",
        Select "select",
        State "state",
        StringType "string",
        Struct "struct",
        Switch "switch",
        Table "table",
        This "this",
        Transition "transition",
        True "true",
        Tuple "tuple",
        Type "type",
        Typedef "typedef",
        ValueSet "value_set",
        Varbit "varbit",
        Void "void",
        DontCare "_",
    }
    punctuation {
        LeftParenthesis "(",
        RightParenthesis ")",
        LeftBracket "[",
        RightBracket "]",
        LeftBrace "{",
        RightBrace "}",
        Less "<",
        Greater ">",
        Colon ":",
        Comma ",",
        Semicolon ";",
        Question "?",
        At "@",
        Hash "#",
        HashHash "##",
        Dot ".",
        DotDot "..",
        Dots "...",
        Assign "=",
        Equal "==",
        NotEqual "!=",
        LessOrEqual "<=",
        ShiftLeft "<<",
        ShiftLeftAssign "<<=",
        Not "!",
        Complement "~",
        Plus "+",
        PlusAssign "+=",
        PlusPlus "++",
        Minus "-",
        MinusAssign "-=",
        Star "*",
        StarAssign "*=",
        Slash "/",
        SlashAssign "/=",
        Percent "%",
        PercentAssign "%=",
        Ampersand "&",
        AmpersandAssign "&=",
        And "&&",
        Mask "&&&",
        Bar "|",
        BarAssign "|=",
        Or "||",
        PlusSaturating "|+|",
        PlusSaturatingAssign "|+|=",
        MinusSaturating "|-|",
        MinusSaturatingAssign "|-|=",
        Caret "^",
        CaretAssign "^=",
    }
}

/// A token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Whether white space, a comment or a line break precedes the token.
    pub(crate) space_before: bool,
    /// Whether the token is the first one of its line.
    pub(crate) line_start: bool,
    /// Whether the token is the name of a macro in the expansion of this macro, where the name must
    /// not be expanded again.
    pub(crate) no_expand: bool,
    /// The text of the token.
    pub(crate) symbol: Symbol,
    pub(crate) span: Span,
}

/// A line continuation in a file: a backslash and a line break. It is removed from the text before
/// the text is split into tokens.
#[derive(Debug, Clone, Copy)]
struct Splice {
    /// The offset at which the continuation was removed, in the text without continuations.
    at: usize,
    /// The total length in bytes of this continuation and all previous ones.
    removed: usize,
}

/// A lexer for the text of one file.
#[derive(Debug)]
pub(crate) struct Lexer {
    /// The text of the file without line continuations. As in C, a line that ends in a backslash
    /// continues in the next one, even in the middle of a token.
    text: Arc<str>,
    /// The line continuations, in order of position.
    splices: Vec<Splice>,
    file: FileId,
    at: usize,
}

impl Lexer {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Self {
        let (text, splices) = spliced(text);
        Self { text, splices, file, at: 0 }
    }

    /// Returns the offset in the file at which the search for the next token starts.
    pub(crate) fn offset(&self) -> usize {
        self.in_file(self.at)
    }

    /// Converts `at`, an offset in the text without line continuations, to the offset of the same
    /// character in the file.
    fn in_file(&self, at: usize) -> usize {
        self.in_file_behind(at + 1) - 1
    }

    /// Converts `end`, the end of a token in the text without line continuations, to the token's
    /// end in the file. A continuation that follows the token is not part of it.
    fn in_file_behind(&self, end: usize) -> usize {
        let before = self.splices.partition_point(|splice| splice.at < end);
        let splice = before.checked_sub(1).and_then(|last| self.splices.get(last));
        end + splice.map_or(0, |splice| splice.removed)
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Skips white space and comments. Returns whether it skipped any, and whether they contained a
    /// line break. If `stop_at_line_end` is true, stops before a line break outside comments. If a
    /// comment is not closed, skips to the end of the text and returns the span of the `/*` as an
    /// error.
    fn skip_blank(&mut self, stop_at_line_end: bool) -> Result<(bool, bool), Span> {
        let (mut space, mut line) = (false, false);
        loop {
            match self.byte(0) {
                b'\n' if stop_at_line_end => return Ok((space, line)),
                b'\n' => {
                    line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(1) == b'/' => self.skip_raw_line(),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.at;
                    let rest = self.text.as_bytes().get(self.at + 2..).unwrap_or(&[]);
                    match rest.windows(2).position(|pair| pair == b"*/") {
                        Some(length) => self.at += 2 + length + 2,
                        None => {
                            self.at = self.text.len();
                            return Err(self.span(start, start + 2));
                        }
                    }
                }
                _ => return Ok((space, line)),
            }
            space = true;
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let start_in_file = self.in_file(start);
        let end_in_file = if end > start { self.in_file_behind(end) } else { start_in_file };
        Span::new(self.file, start_in_file as u32, end_in_file as u32)
    }

    /// Skips the rest of the line, even if a comment starts in it.
    pub(crate) fn skip_raw_line(&mut self) {
        while !self.at_end() && self.byte(0) != b'\n' {
            self.at += 1;
        }
    }

    /// Returns the next token of the current line, or `None` if the line has no more. A string
    /// literal must end in the same line.
    pub(crate) fn next_in_line(&mut self, symbols: &mut Interner) -> Option<Token> {
        match self.skip_blank(true) {
            Ok((space, _)) => {
                if self.at_end() || self.byte(0) == b'\n' {
                    return None;
                }
                Some(self.token(space, false, false, symbols))
            }
            Err(span) => Some(self.unterminated_comment(span, symbols)),
        }
    }

    /// Returns the rest of the current line without white space at its ends, for directives whose
    /// operand is arbitrary text.
    pub(crate) fn rest_of_line(&self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or("");
        rest.split('\n').next().unwrap_or("").trim()
    }

    /// If the rest of the line starts with `<`, returns the text up to the next `>`, and the span
    /// of the text including the brackets.
    pub(crate) fn bracketed(&self) -> Option<(String, Span)> {
        let (name, _) = self.rest_of_line().strip_prefix('<')?.split_once('>')?;
        let start = self.at + self.text.get(self.at..)?.find('<')?;
        Some((name.to_owned(), self.span(start, start + name.len() + 2)))
    }

    /// Returns the next token. After the end of the text, each call returns [`TokenKind::End`].
    pub(crate) fn next(&mut self, symbols: &mut Interner) -> Token {
        self.next_anywhere(true, symbols)
    }

    /// Returns the next token of text that a conditional directive skips. As in C, a string literal
    /// in such text must end in the same line.
    pub(crate) fn next_in_skipped_text(&mut self, symbols: &mut Interner) -> Token {
        self.next_anywhere(false, symbols)
    }

    fn next_anywhere(&mut self, multiline: bool, symbols: &mut Interner) -> Token {
        let first = self.at == 0;
        // A byte order mark is not part of the program.
        if first && self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        match self.skip_blank(false) {
            Ok((space, line)) => self.token(space, line || first, multiline, symbols),
            Err(span) => self.unterminated_comment(span, symbols),
        }
    }

    fn unterminated_comment(&self, span: Span, symbols: &mut Interner) -> Token {
        Token {
            kind: TokenKind::UnterminatedComment,
            space_before: true,
            line_start: false,
            no_expand: false,
            symbol: symbols.intern("/*"),
            span,
        }
    }

    fn token(&mut self, space: bool, line: bool, multiline: bool, symbols: &mut Interner) -> Token {
        let start = self.at;
        let kind = self.scan(multiline);
        let text = self.text.get(start..self.at).unwrap_or("");
        let kind = if kind == TokenKind::Identifier { keyword(text).unwrap_or(kind) } else { kind };
        Token {
            kind,
            space_before: space,
            line_start: line,
            no_expand: false,
            symbol: symbols.intern(text),
            span: self.span(start, self.at),
        }
    }

    /// Advances past one token and returns its kind.
    fn scan(&mut self, multiline: bool) -> TokenKind {
        use TokenKind as K;
        let one_of = |lexer: &mut Self, kind: TokenKind, length: usize| {
            lexer.at += length;
            kind
        };
        let (first, second, third, fourth) =
            (self.byte(0), self.byte(1), self.byte(2), self.byte(3));
        match (first, second, third, fourth) {
            _ if self.at_end() => K::End,
            (b'a'..=b'z' | b'A'..=b'Z' | b'_', ..) => {
                self.skip_word();
                K::Identifier
            }
            (b'0'..=b'9', ..) => {
                self.skip_word();
                K::Number
            }
            (b'"', ..) => self.string(multiline),
            (b'(', ..) => one_of(self, K::LeftParenthesis, 1),
            (b')', ..) => one_of(self, K::RightParenthesis, 1),
            (b'[', ..) => one_of(self, K::LeftBracket, 1),
            (b']', ..) => one_of(self, K::RightBracket, 1),
            (b'{', ..) => one_of(self, K::LeftBrace, 1),
            (b'}', ..) => one_of(self, K::RightBrace, 1),
            (b':', ..) => one_of(self, K::Colon, 1),
            (b',', ..) => one_of(self, K::Comma, 1),
            (b';', ..) => one_of(self, K::Semicolon, 1),
            (b'?', ..) => one_of(self, K::Question, 1),
            (b'@', ..) => one_of(self, K::At, 1),
            (b'~', ..) => one_of(self, K::Complement, 1),
            (b'>', ..) => one_of(self, K::Greater, 1),
            (b'#', b'#', ..) => one_of(self, K::HashHash, 2),
            (b'#', ..) => one_of(self, K::Hash, 1),
            (b'.', b'.', b'.', _) => one_of(self, K::Dots, 3),
            (b'.', b'.', ..) => one_of(self, K::DotDot, 2),
            (b'.', ..) => one_of(self, K::Dot, 1),
            (b'=', b'=', ..) => one_of(self, K::Equal, 2),
            (b'=', ..) => one_of(self, K::Assign, 1),
            (b'!', b'=', ..) => one_of(self, K::NotEqual, 2),
            (b'!', ..) => one_of(self, K::Not, 1),
            (b'<', b'<', b'=', _) => one_of(self, K::ShiftLeftAssign, 3),
            (b'<', b'<', ..) => one_of(self, K::ShiftLeft, 2),
            (b'<', b'=', ..) => one_of(self, K::LessOrEqual, 2),
            (b'<', ..) => one_of(self, K::Less, 1),
            (b'+', b'+', ..) => one_of(self, K::PlusPlus, 2),
            (b'+', b'=', ..) => one_of(self, K::PlusAssign, 2),
            (b'+', ..) => one_of(self, K::Plus, 1),
            (b'-', b'=', ..) => one_of(self, K::MinusAssign, 2),
            (b'-', ..) => one_of(self, K::Minus, 1),
            (b'*', b'=', ..) => one_of(self, K::StarAssign, 2),
            (b'*', ..) => one_of(self, K::Star, 1),
            (b'/', b'=', ..) => one_of(self, K::SlashAssign, 2),
            (b'/', ..) => one_of(self, K::Slash, 1),
            (b'%', b'=', ..) => one_of(self, K::PercentAssign, 2),
            (b'%', ..) => one_of(self, K::Percent, 1),
            (b'&', b'&', b'&', _) => one_of(self, K::Mask, 3),
            (b'&', b'&', ..) => one_of(self, K::And, 2),
            (b'&', b'=', ..) => one_of(self, K::AmpersandAssign, 2),
            (b'&', ..) => one_of(self, K::Ampersand, 1),
            (b'|', b'+', b'|', b'=') => one_of(self, K::PlusSaturatingAssign, 4),
            (b'|', b'+', b'|', _) => one_of(self, K::PlusSaturating, 3),
            (b'|', b'-', b'|', b'=') => one_of(self, K::MinusSaturatingAssign, 4),
            (b'|', b'-', b'|', _) => one_of(self, K::MinusSaturating, 3),
            (b'|', b'|', ..) => one_of(self, K::Or, 2),
            (b'|', b'=', ..) => one_of(self, K::BarAssign, 2),
            (b'|', ..) => one_of(self, K::Bar, 1),
            (b'^', b'=', ..) => one_of(self, K::CaretAssign, 2),
            (b'^', ..) => one_of(self, K::Caret, 1),
            _ => {
                let rest = self.text.get(self.at..).unwrap_or("");
                self.at += rest.chars().next().map_or(1, char::len_utf8);
                K::Unknown
            }
        }
    }

    fn skip_word(&mut self) {
        while matches!(self.byte(0), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') {
            self.at += 1;
        }
    }

    fn string(&mut self, multiline: bool) -> TokenKind {
        let start = self.at;
        self.at += 1;
        loop {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return TokenKind::String;
                }
                b'\\' if self.at + 1 < self.text.len() => self.at += 2,
                b'\n' if !multiline => break,
                0 if self.at_end() => break,
                _ => self.at += 1,
            }
        }
        // Continue after the quote as if it were not there, so that a missing quote causes only one
        // error.
        self.at = start + 1;
        TokenKind::UnterminatedString
    }
}

/// Returns a text without its line continuations, and the continuations that were removed. As in
/// GNU `cpp`, white space may stand between the backslash and the line break.
fn spliced(text: Arc<str>) -> (Arc<str>, Vec<Splice>) {
    let mut out = String::new();
    let mut splices = Vec::new();
    let mut removed = 0;
    let mut copied = 0;
    for (start, _) in text.match_indices('\\') {
        let rest = text.get(start + 1..).unwrap_or("");
        let behind = rest.trim_start_matches([' ', '\t', '\r', '\u{b}', '\u{c}']);
        if !behind.starts_with('\n') {
            continue;
        }
        let end = text.len() - behind.len() + 1;
        out.push_str(text.get(copied..start).unwrap_or(""));
        removed += end - start;
        copied = end;
        splices.push(Splice { at: out.len(), removed });
    }
    if splices.is_empty() {
        return (text, splices);
    }
    out.push_str(text.get(copied..).unwrap_or(""));
    (out.into(), splices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;

    fn lex(text: &str) -> Vec<(TokenKind, String)> {
        let mut map = SourceMap::new();
        let file = map.add("t", text);
        let mut symbols = Interner::default();
        let mut lexer = Lexer::new(file, text.into());
        let mut out = Vec::new();
        loop {
            let token = lexer.next(&mut symbols);
            if token.kind == TokenKind::End {
                return out;
            }
            out.push((token.kind, symbols.str(token.symbol).to_owned()));
        }
    }

    fn kinds(text: &str) -> Vec<TokenKind> {
        lex(text).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn operators_match_the_longest_token_except_greater() {
        use TokenKind as K;
        assert_eq!(kinds("a|+|=b|+|c||d|=e|f"), {
            let i = K::Identifier;
            vec![
                i,
                K::PlusSaturatingAssign,
                i,
                K::PlusSaturating,
                i,
                K::Or,
                i,
                K::BarAssign,
                i,
                K::Bar,
                i,
            ]
        });
        assert_eq!(kinds("&&& && & &="), [K::Mask, K::And, K::Ampersand, K::AmpersandAssign]);
        assert_eq!(
            kinds("<<= << <= <"),
            [K::ShiftLeftAssign, K::ShiftLeft, K::LessOrEqual, K::Less]
        );
        assert_eq!(kinds(">>="), [K::Greater, K::Greater, K::Assign]);
        assert_eq!(
            kinds("... .. . ++ +="),
            [K::Dots, K::DotDot, K::Dot, K::PlusPlus, K::PlusAssign]
        );
    }

    #[test]
    fn punctuation_and_keywords_are_recognised() {
        for text in ["_", "abstract", "value_set", "|-|=", "##", "~", "^=", "list", "priority"] {
            let tokens = lex(text);
            assert_eq!(tokens.len(), 1, "{text}");
            assert_eq!(tokens[0].0.text(), Some(text));
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let mut symbols = Interner::default();
        let file = SourceMap::new().add("t", "");
        let first = Lexer::new(file, "\u{feff}#x".into()).next(&mut symbols);
        assert_eq!((first.kind, first.line_start), (TokenKind::Hash, true));
    }

    #[test]
    fn comments_are_white_space() {
        assert_eq!(kinds("a /* b \n * c */ d // e \\\n f\n g"), [TokenKind::Identifier; 3]);
        assert_eq!(kinds("a // b \\ \t\n c\n d"), [TokenKind::Identifier; 2]);
        assert_eq!(kinds("a /* b"), [TokenKind::Identifier, TokenKind::UnterminatedComment]);
    }

    /// A continuation of any form at any offset leaves the tokens unchanged, and the span of each
    /// token covers its first to its last character.
    #[test]
    fn a_line_may_continue_after_a_backslash_at_any_offset() {
        let text = "ab+12w0x3f|+|=\"c\\\"d\" // e\n/* f */ &&&g";
        let expected = lex(text);
        assert_eq!(expected.len(), 7);
        let tokens = |text: &str| {
            let file = SourceMap::new().add("t", text);
            let mut symbols = Interner::default();
            let mut lexer = Lexer::new(file, text.into());
            std::iter::from_fn(move || {
                let token = lexer.next(&mut symbols);
                let shown = (token.kind, symbols.str(token.symbol).to_owned());
                (token.kind != TokenKind::End).then_some((shown, token))
            })
            .collect::<Vec<_>>()
        };
        let alone = tokens(text);
        for continuation in ["\\\n", "\\ \t\n", "\\\r\n", "\\\n\\\n"] {
            for at in 0..=text.len() {
                let (before, behind) = text.split_at(at);
                // A backslash that follows another one in a string is an escaped character.
                if before.ends_with('\\') {
                    continue;
                }
                let found = tokens(&format!("{before}{continuation}{behind}"));
                let shown: Vec<_> = found.iter().map(|(shown, _)| shown.clone()).collect();
                assert_eq!(shown, expected, "{continuation:?} at {at}");
                for ((_, found), (_, alone)) in found.iter().zip(&alone) {
                    let moved = |offset: u32, is_behind: bool| {
                        offset + if is_behind { continuation.len() as u32 } else { 0 }
                    };
                    let (start, end) = (alone.span.start, alone.span.end);
                    let expected =
                        (moved(start, start as usize >= at), moved(end, end as usize > at));
                    assert_eq!(
                        (found.span.start, found.span.end),
                        expected,
                        "{continuation:?} at {at}"
                    );
                    assert_eq!(found.line_start, alone.line_start, "{continuation:?} at {at}");
                }
            }
        }
    }

    #[test]
    fn strings_keep_escapes_and_may_be_unterminated() {
        assert_eq!(lex(r#" "a\"b\\" "#), [(TokenKind::String, r#""a\"b\\""#.to_owned())]);
        assert_eq!(kinds("\"open"), [TokenKind::UnterminatedString, TokenKind::Identifier]);
    }

    #[test]
    fn other_characters_are_kept() {
        assert_eq!(
            lex("µ$"),
            [(TokenKind::Unknown, "µ".to_owned()), (TokenKind::Unknown, "$".to_owned())]
        );
        assert_eq!(kinds("\0"), [TokenKind::Unknown]);
    }
}
