//! The encodings of hashes agree with `ir::hash`, and the solver inverts them.

use fastrand::Rng;
use ir::bits::Bits;
use ir::hash::{Algorithm, CrcParameters, HashSettings, internet_checksum};
use ir::hash::{ones_complement_difference, ones_complement_sum};
use symbolic::evaluate::{Evaluation, Model};
use symbolic::hash;
use symbolic::query::{Answer, Context, Settings};
use symbolic::term::{Operation, Origin, Term, Terms};

/// Returns the value of a function of unknown data, under a model in which the data is known.
fn value_of(data: &[u8], function: impl Fn(&mut Terms, Term) -> Term) -> u64 {
    let width = u32::try_from(8 * data.len()).expect("little data");
    value_of_bits(&Bits::from_be_bytes(width, false, data), function)
}

fn value_of_bits(data: &Bits, function: impl Fn(&mut Terms, Term) -> Term) -> u64 {
    let mut terms = Terms::new();
    let input = terms.input(Origin::chosen(0), data.width());
    let result = function(&mut terms, input);
    terms.check().expect("no faults");
    let mut model = Model::new();
    if let Operation::Input(id) = terms.operation(input) {
        model.set(&terms, id, data);
    }
    Evaluation::new(model).value(&terms, result).to_u64().expect("at most 64 bits")
}

fn random_data(random: &mut Rng, most: usize) -> Vec<u8> {
    (0..random.usize(..=most)).map(|_| random.u8(..)).collect()
}

/// The check values are from the catalogue of parametrised CRC algorithms (Cook).
#[test]
fn check_values_of_crcs() {
    let of = |parameters| value_of(b"123456789", |terms, data| hash::crc(terms, data, &parameters));
    assert_eq!(of(CrcParameters::CRC16), 0xbb3d);
    assert_eq!(of(CrcParameters::CRC32), 0xcbf4_3926);
    let ccitt = CrcParameters {
        width: 16,
        polynomial: 0x1021,
        initial: 0xffff,
        reflect_input: false,
        reflect_output: false,
        final_xor: 0,
    };
    assert_eq!(of(ccitt), 0x29b1);
    let smbus = CrcParameters { width: 8, polynomial: 7, initial: 0, ..ccitt };
    assert_eq!(of(smbus), 0xf4);
}

#[test]
fn crcs_of_any_parameters() {
    let mut random = Rng::with_seed(1);
    for _ in 0..200 {
        let parameters = CrcParameters {
            width: random.u32(0..70),
            polynomial: random.u64(..),
            initial: random.u64(..),
            reflect_input: random.bool(),
            reflect_output: random.bool(),
            final_xor: random.u64(..),
        };
        let data = random_data(&mut random, 12);
        let value = value_of(&data, |terms, data| hash::crc(terms, data, &parameters));
        assert_eq!(value, parameters.checksum(&data), "{parameters:?} of {data:?}");
    }
}

/// The example of RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
#[test]
fn internet_checksum_of_the_rfc() {
    let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(value_of(&data, hash::internet_checksum), 0x220d);
    assert_eq!(value_of(&[], hash::internet_checksum), 0xffff);
    assert_eq!(value_of(&[0xab], hash::internet_checksum), 0x54ff);
    // A term with the largest possible number of words, so that the number of carries is as large
    // as possible.
    let most = vec![0xff; 8_192];
    assert_eq!(value_of(&most, hash::internet_checksum), u64::from(internet_checksum(&most)));
}

#[test]
fn one_s_complement_sums() {
    let mut random = Rng::with_seed(2);
    for _ in 0..300 {
        // Sums near zero, which has two representations, are common.
        let mut data = random_data(&mut random, 20);
        if random.bool() {
            let byte = if random.bool() { 0xff } else { 0 };
            data.iter_mut().for_each(|place| *place = byte);
        }
        let start = [0, 1, 0xffff, random.u16(..)][random.usize(..4)];
        let sum = value_of(&data, |terms, data| {
            let start = terms.number(16, u128::from(start));
            hash::ones_complement_sum(terms, start, data)
        });
        assert_eq!(sum, u64::from(ones_complement_sum(start, &data)), "{start} and {data:?}");
        let difference = value_of(&data, |terms, data| {
            let start = terms.number(16, u128::from(start));
            hash::ones_complement_difference(terms, start, data)
        });
        let expected = u64::from(ones_complement_difference(start, &data));
        assert_eq!(difference, expected, "{start} and {data:?}");
    }
}

#[test]
fn all_algorithms_that_have_an_encoding() {
    let mut random = Rng::with_seed(3);
    let settings = HashSettings {
        toeplitz_key: (0..40).map(|_| random.u8(..)).collect(),
        ..HashSettings::default()
    };
    let names = ["crc16", "crc32", "crc16_custom", "crc32_custom", "csum16", "xor16", "identity"];
    for name in names.into_iter().chain(["toeplitz", "target_default"]) {
        let algorithm = Algorithm::named(name);
        for _ in 0..60 {
            let data = random_data(&mut random, 16);
            let expected = settings.hash(&algorithm, &data).expect("a known algorithm");
            let encode = |terms: &mut Terms, data| {
                hash::encode(terms, &algorithm, &settings, data).expect("an encoding")
            };
            assert_eq!(value_of(&data, encode), expected, "{name} of {data:?}");
            // Known data is hashed at once.
            let mut terms = Terms::new();
            let width = u32::try_from(8 * data.len()).expect("little data");
            let known = terms.constant(&Bits::from_be_bytes(width, false, &data));
            let hashed = encode(&mut terms, known);
            assert_eq!(terms.constant_of(hashed).and_then(Bits::to_u64), Some(expected));
        }
        // Twelve bits are followed by four zeros.
        let twelve = Bits::unsigned(12, 0xabc);
        let value = value_of_bits(&twelve, |terms, data| {
            hash::encode(terms, &algorithm, &settings, data).expect("an encoding")
        });
        assert_eq!(Some(value), settings.hash(&algorithm, &[0xab, 0xc0]), "{name}");
    }
    for name in ["lookup3", "random", "md5"] {
        let mut terms = Terms::new();
        let data = terms.input(Origin::chosen(0), 8);
        assert_eq!(hash::encode(&mut terms, &Algorithm::named(name), &settings, data), None);
    }
}

/// Returns data of `bytes` bytes with a given hash.
fn inverted(algorithm: &Algorithm, bytes: u32, wanted: u64) -> Vec<u8> {
    let mut terms = Terms::new();
    let data = terms.input(Origin::chosen(0), 8 * bytes);
    let hash = hash::encode(&mut terms, algorithm, &HashSettings::default(), data);
    let hash = hash.expect("an encoding");
    let wanted = terms.number(64, u128::from(wanted));
    let condition = terms.equal(hash, wanted);
    let answer = Context::new(Settings::default()).solve(&terms, &[condition]);
    match answer.expect("an answer") {
        Answer::Model(model) => Evaluation::new(model).value(&terms, data).to_be_bytes(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_with_a_given_hash_is_found() {
    for (name, wanted) in [
        ("crc32", 0xdead_beef),
        ("crc16", 0x1234),
        ("csum16", 0),
        ("csum16", 0xabcd),
        ("xor16", 0x55aa),
        ("identity", 0x0102_0304_0506_0708),
    ] {
        let algorithm = Algorithm::named(name);
        let data = inverted(&algorithm, 13, wanted);
        assert_eq!(HashSettings::default().hash(&algorithm, &data), Some(wanted), "{name}");
    }
}

/// Two flows whose addresses differ and whose CRCs select the same register cell.
#[test]
fn colliding_flows_are_found() {
    let mut terms = Terms::new();
    let flows = [0, 1].map(|id| terms.input(Origin::chosen(id), 104));
    let hashes = flows.map(|flow| hash::crc(&mut terms, flow, &CrcParameters::CRC32));
    let cells = hashes.map(|hash| terms.extract(hash, 15, 0));
    let same = terms.equal(cells[0], cells[1]);
    let sources = flows.map(|flow| terms.extract(flow, 103, 72));
    let apart = terms.not_equal(sources[0], sources[1]);
    let answer = Context::new(Settings::default()).solve(&terms, &[same, apart]);
    let Ok(Answer::Model(model)) = answer else { panic!("{answer:?}") };
    let mut evaluation = Evaluation::new(model);
    let [first, second] = flows.map(|flow| evaluation.value(&terms, flow).to_be_bytes());
    assert_ne!(first[..4], second[..4]);
    let cell = |data: &[u8]| CrcParameters::CRC32.checksum(data) & 0xffff;
    assert_eq!(cell(&first), cell(&second));
}
