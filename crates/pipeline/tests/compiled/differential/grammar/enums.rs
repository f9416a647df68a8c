//! Variables of the architectures' enumerations.

use super::{Architecture, Grammar};

impl Grammar<'_, '_> {
    /// Returns statements with a variable of an enumeration, which has some of its members as
    /// values.
    pub(super) fn enumerated(&mut self) -> String {
        let enums = self.enums();
        let position = self.below(enums.len() as u32) as usize;
        let (name, members) = enums.get(position).copied().unwrap_or(("error", &["NoError"]));
        let [one, other, third] =
            [self.one_of(members), self.one_of(members), self.one_of(members)];
        let condition = self.condition(0);
        format!(
            "{{ {name} chosen = {name}.{one}; if ({condition}) {{ chosen = {name}.{other}; }} if (chosen == {name}.{third}) {{ m.k = m.k + 1; }} }}"
        )
    }

    fn enums(&self) -> Vec<(&'static str, &'static [&'static str])> {
        const ALGORITHMS: &[&str] = &[
            "IDENTITY",
            "CRC32",
            "CRC32_CUSTOM",
            "CRC16",
            "CRC16_CUSTOM",
            "ONES_COMPLEMENT16",
            "TARGET_DEFAULT",
        ];
        const COUNTS: &[&str] = &["PACKETS", "BYTES", "PACKETS_AND_BYTES"];
        const COLORS: &[&str] = &["RED", "GREEN", "YELLOW"];
        match self.architecture {
            Architecture::V1model => vec![
                ("CounterType", &["packets", "bytes", "packets_and_bytes"]),
                ("MeterType", &["packets", "bytes"]),
                ("CloneType", &["I2E", "E2E"]),
                ("HashAlgorithm", &["crc32", "random", "xor16"]),
            ],
            Architecture::Psa => vec![
                ("PSA_HashAlgorithm_t", ALGORITHMS),
                ("PSA_CounterType_t", COUNTS),
                ("PSA_MeterType_t", &["PACKETS", "BYTES"]),
                ("PSA_MeterColor_t", COLORS),
                ("PSA_IdleTimeout_t", &["NO_TIMEOUT", "NOTIFY_CONTROL"]),
                ("PSA_PacketPath_t", &["NORMAL", "NORMAL_UNICAST", "RECIRCULATE", "RESUBMIT"]),
            ],
            Architecture::Pna => {
                let mut all: Vec<(&str, &[&str])> = vec![
                    ("PNA_HashAlgorithm_t", ALGORITHMS),
                    ("PNA_CounterType_t", COUNTS),
                    ("PNA_MeterType_t", &["PACKETS", "BYTES"]),
                    ("PNA_MeterColor_t", COLORS),
                    ("PNA_IdleTimeout_t", &["NO_TIMEOUT", "NOTIFY_CONTROL", "AUTO_DELETE"]),
                ];
                match self.is_old {
                    true => all.extend::<[(&str, &[&str]); 3]>([
                        ("PNA_Direction_t", &["NET_TO_HOST", "HOST_TO_NET"]),
                        (
                            "PNA_PacketPath_t",
                            &[
                                "FROM_NET_PORT",
                                "FROM_NET_LOOPEDBACK",
                                "FROM_NET_RECIRCULATED",
                                "FROM_HOST",
                                "FROM_HOST_LOOPEDBACK",
                                "FROM_HOST_RECIRCULATED",
                            ],
                        ),
                        ("PNA_HashAlgorithm_t", &["TOEPLITZ", "CRC16"]),
                    ]),
                    false => all.push(("PNA_Source_t", &["FROM_HOST", "FROM_NET"])),
                }
                all
            }
        }
    }
}
