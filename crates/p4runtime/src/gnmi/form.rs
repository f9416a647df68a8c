//! The form of answers that a client requests: the encoding of values, the type of data, the
//! models, and the prefix that answers repeat.

use super::{
    json,
    leaf::{Class, Leaf, LeafValue, Module},
    messages::{
        DataType, Encoding, GetRequest, ModelData, Path, SubscriptionList, TypedValue, Value,
    },
};
use crate::status::EntityError;

/// The supported encodings, in the order in which Capabilities lists them.
pub(super) const ENCODINGS: [Encoding; 3] = [Encoding::Json, Encoding::JsonIetf, Encoding::Proto];

/// The encoding of the values that one client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Typed scalars, one leaf at a time.
    Scalars,
    /// JSON with plain numbers and names.
    Json,
    /// JSON according to RFC 7951.
    JsonIetf,
}

/// The form of the answers to one client: encoding, type of data, models and prefix.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) written: Written,
    data: DataType,
    /// The YANG modules whose nodes the client has requested, or an empty list for all modules.
    modules: Vec<Module>,
    /// The prefix of every notification, if the client has named a target or an origin.
    pub(super) prefix: Option<Path>,
}

impl Form {
    /// Returns the form of the answer to a Get request, which is JSON unless the request names
    /// another encoding.
    pub(super) fn of_get(request: &GetRequest) -> Result<Self, EntityError> {
        let data = DataType::try_from(request.r#type).map_err(|_| {
            EntityError::invalid(format!("The data type {} is not defined.", request.r#type))
        })?;
        Ok(Self {
            written: written(request.encoding)?,
            data,
            modules: modules(&request.use_models)?,
            prefix: repeated(request.prefix.as_ref()),
        })
    }

    /// Returns the form of the notifications for a subscriber.
    ///
    /// In protobuf, JSON is the value 0 of the encoding field and cannot be distinguished from an
    /// absent field. finsy and ONOS omit the field and expect typed scalars, as Stratum sends them.
    /// Subscriptions whose encoding field has this value therefore get typed scalars. JSON_IETF has
    /// another value and is unambiguous.
    pub(super) fn of_subscription(list: &SubscriptionList) -> Result<Self, EntityError> {
        let written = match written(list.encoding)? {
            Written::Json => Written::Scalars,
            written => written,
        };
        let modules = modules(&list.use_models)?;
        Ok(Self { written, data: DataType::All, modules, prefix: repeated(list.prefix.as_ref()) })
    }

    /// Returns whether the client has requested a leaf: both its type of data and the model that
    /// defines it must be among those that the client has named.
    pub(super) fn wants(&self, leaf: &Leaf) -> bool {
        self.wants_data(leaf.class, leaf.module)
    }

    /// Returns whether the client has requested leaves of this class and module.
    pub(super) fn wants_data(&self, class: Class, module: Module) -> bool {
        let is_data = match self.data {
            DataType::All => true,
            DataType::Config => class == Class::Config,
            DataType::State => class != Class::Config,
            DataType::Operational => class == Class::Operational,
        };
        is_data && (self.modules.is_empty() || self.modules.contains(&module))
    }

    /// Returns the value of a leaf in the requested encoding.
    pub(super) fn value(&self, value: LeafValue) -> TypedValue {
        let value = match (self.written, value) {
            (Written::Scalars, LeafValue::Text(text)) => Value::Text(text),
            (Written::Scalars, LeafValue::Number(number)) => Value::Number(number.into()),
            (Written::Scalars, LeafValue::Counter(count)) => Value::Number(count),
            (Written::Scalars, LeafValue::Flag(flag)) => Value::Flag(flag),
            (Written::Json, value) => Value::Json(bytes(&json::leaf(&value, false))),
            (Written::JsonIetf, value) => Value::JsonIetf(bytes(&json::leaf(&value, true))),
        };
        TypedValue { value: Some(value) }
    }
}

/// Returns the text of a JSON value as bytes.
pub(super) fn bytes(value: &serde_json::Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn written(encoding: i32) -> Result<Written, EntityError> {
    match Encoding::try_from(encoding) {
        Ok(Encoding::Proto) => Ok(Written::Scalars),
        Ok(Encoding::Json) => Ok(Written::Json),
        Ok(Encoding::JsonIetf) => Ok(Written::JsonIetf),
        Ok(Encoding::Bytes | Encoding::Ascii) | Err(_) => {
            let requested = Encoding::try_from(encoding)
                .map_or_else(|_| encoding.to_string(), |known| known.name().to_owned());
            let served = ENCODINGS.map(|known| known.name()).join(", ");
            Err(EntityError::unimplemented(format!(
                "The encoding {requested} is not supported; supported are {served}."
            )))
        }
    }
}

fn modules(models: &[ModelData]) -> Result<Vec<Module>, EntityError> {
    let module = |model: &ModelData| {
        let known = Module::ALL.into_iter().find(|module| {
            let is_version = model.version.is_empty() || model.version == module.version();
            module.name() == model.name && is_version
        });
        known.ok_or_else(|| {
            let served = Module::ALL.map(|known| format!("{} {}", known.name(), known.version()));
            EntityError::invalid(format!(
                "use_models has {:?} {:?}, which is not served; served are {}.",
                model.name,
                model.version,
                served.join(", ")
            ))
        })
    };
    models.iter().map(module).collect()
}

/// Returns the prefix that answers repeat: the target in the request's prefix, as gNMI 0.7 requires
/// (section 2.2.2.1), and the origin. It has no path elements, because the paths in answers are
/// absolute.
pub(super) fn repeated(prefix: Option<&Path>) -> Option<Path> {
    let Path { origin, target, .. } = prefix?;
    let says_anything = !origin.is_empty() || !target.is_empty();
    says_anything.then(|| Path { origin: origin.clone(), target: target.clone(), elem: Vec::new() })
}
