//! Mutations of JSON as a tree. The result is JSON, and mostly of the same shape.

use serde_json::{Number, Value};

use crate::bytes;
use crate::random::Random;
use crate::text;

/// Mutates an input of a target that reads JSON. An input that is not JSON is first replaced by the
/// result of `seed_text`, so that a corpus may consist of the files from which JSON is generated.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    seed_text: impl FnOnce(&[u8]) -> Option<String>,
) -> usize {
    let mut random = Random::new(u64::from(seed));
    if random.below(32) == 0 {
        return bytes::mutate(data, size, max_size, seed);
    }
    let mut tree = match serde_json::from_slice(&data[..size]) {
        Ok(tree) => tree,
        Err(_) => match seed_text(&data[..size]).map(|text| serde_json::from_str(&text)) {
            Some(Ok(tree)) => tree,
            _ => return bytes::mutate(data, size, max_size, seed),
        },
    };
    for _ in 0..1 + random.below(3) {
        change(&mut tree, &mut random);
    }
    text::put(tree.to_string().as_bytes(), data, size, max_size, seed)
}

/// Changes one node of the tree.
fn change(tree: &mut Value, random: &mut Random) {
    let nodes = count(tree);
    let other = nth(tree, &mut random.below(nodes)).cloned().unwrap_or_default();
    let Some(node) = nth(tree, &mut random.below(nodes)) else { return };
    match node {
        Value::Array(items) if !items.is_empty() && random.below(8) > 0 => {
            let (at, from) = (random.below(items.len()), random.below(items.len()));
            match random.below(4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[from].clone()),
                2 => items.swap(at, from),
                _ => items.insert(at, other),
            }
        }
        Value::Object(members) if !members.is_empty() && random.below(8) > 0 => {
            let keys: Vec<String> = members.keys().cloned().collect();
            let (at, from) = (random.pick(&keys), random.pick(&keys));
            match random.below(3) {
                0 => drop(members.remove(at)),
                1 => {
                    let copied = members[from].clone();
                    members.insert(at.clone(), copied);
                }
                _ => drop(members.insert(at.clone(), other)),
            }
        }
        // A number mostly stays a number, and a string a string.
        Value::Number(number) if random.below(4) > 0 => {
            let near = number.as_i64().unwrap_or(0);
            *number = match random.below(6) {
                0 => near.wrapping_add(1).into(),
                1 => near.wrapping_sub(1).into(),
                2 => Number::from(random.below(16)),
                3 => Number::from(1_u64 << random.below(64)),
                4 => Number::from((1_u64 << random.below(64)) - 1),
                _ => (-(random.below(16) as i64)).into(),
            };
        }
        Value::Bool(value) => *value = !*value,
        Value::String(text) if random.below(8) == 0 => {
            *text = random.pick(&["", "0x", "0xffffffffffffffffff", "-1", "a"]).to_string();
        }
        Value::String(text) => match other {
            Value::String(other) => *text = other,
            Value::Array(items) if !items.is_empty() => *node = random.pick(&items).clone(),
            _ => {}
        },
        node => {
            *node = match random.below(8) {
                0 => Value::Null,
                1 => Value::Array(Vec::new()),
                _ => other,
            }
        }
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns the node at a position, counted in the order of the printed tree.
fn nth<'tree>(value: &'tree mut Value, place: &mut usize) -> Option<&'tree mut Value> {
    let Some(before) = place.checked_sub(1) else { return Some(value) };
    *place = before;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, place)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, place)),
        _ => None,
    }
}
