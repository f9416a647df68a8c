//! Hand-written messages of OpenFlow 1.3 with nested structures, as seeds of mutations.

/// Returns one message for every structure that contains others or has a length of its own.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // Ethernet type IPv4, then an IPv4 source with a 24-bit mask; 4 bytes of padding.
    let match_fields =
        b"\0\x01\0\x16\x80\0\x0a\x02\x08\0\x80\0\x17\x08\x0a\0\0\0\xff\xff\xff\0\0\0";
    let output = b"\0\0\0\x10\0\0\0\x01\0\x80\0\0\0\0\0\0";
    let set_field = b"\0\x19\0\x10\x80\0\x06\x06\x01\x02\x03\x04\x05\x06\0\0";
    let group_action = b"\0\x16\0\x08\0\0\0\x05";
    let goto_table = b"\0\x01\0\x08\x02\0\0\0";
    let write_metadata = b"\0\x02\0\x18\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\xff";
    let apply = [b"\0\x04\0\x28\0\0\0\0", &output[..], set_field].concat();
    let instructions = [&apply[..], write_metadata, goto_table].concat();
    let bucket = [&b"\0\x20\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"[..], output].concat();
    let drop_band = b"\0\x01\0\x10\0\0\x03\xe8\0\0\0\x64\0\0\0\0";
    let remark_band = b"\0\x02\0\x10\0\0\x03\xe8\0\0\0\x64\x01\0\0\0";
    let queue =
        [&b"\0\0\0\x01\0\0\0\x02\0\x20\0\0\0\0\0\0"[..], b"\0\x01\0\x10\0\0\0\0\0\x64\0\0\0\0\0\0"];
    let flow_stats = [
        &[0, 168, 0, 0][..],
        &[0; 44],
        match_fields,
        &instructions,
        b"\0\x03\0\x18\0\0\0\0",
        output,
    ]
    .concat();
    let table_features = [
        &[0, 64 + 16 + 16 + 8, 0, 0, 0, 0, 0, 0][..],
        &[b'x'; 32],
        &[0xff; 16],
        &[0, 0, 0, 0, 0, 0, 0x10, 0],
        b"\0\0\0\x0c\0\x01\0\x04\0\x04\0\x04\0\0\0\0",
        b"\0\x08\0\x0c\x80\0\x0a\x02\x80\0\x17\x08\0\0\0\0",
        b"\0\x02\0\x05\x01\0\0\0",
    ]
    .concat();
    let multipart =
        |kind: u8, body: &[&[u8]]| [&[0, kind, 0, 0, 0, 0, 0, 0][..], &body.concat()].concat();
    [
        (0, b"\0\x01\0\x08\0\0\0\x12\0\x09\0\x05x\0\0\0".to_vec()),
        (1, b"\0\x01\0\x06what".to_vec()),
        (1, b"\xff\xff\0\x01\0\0\x23\x20data".to_vec()),
        (2, b"ping".to_vec()),
        (4, b"\0\0\x23\x20\0\0\0\x01body".to_vec()),
        (6, [0; 24].to_vec()),
        (9, vec![0, 0, 0xff, 0xff]),
        (10, [&[0xff; 4][..], &[0, 4, 1, 2], &[7; 8], match_fields, b"\0\0data"].concat()),
        (11, [&[1; 40][..], match_fields].concat()),
        (12, [&[1; 8][..], &[2; 64]].concat()),
        (
            13,
            [&[0xff; 8][..], &[0, 40, 0, 0, 0, 0, 0, 0], output, set_field, group_action, b"data"]
                .concat(),
        ),
        (14, [&[3; 40][..], match_fields, &instructions].concat()),
        (15, [b"\0\0\x01\0\0\0\0\x05", &bucket[..], &bucket].concat()),
        (16, [4; 32].to_vec()),
        (17, [5; 8].to_vec()),
        (18, multipart(1, &[&[6; 32], match_fields])),
        (18, multipart(12, &[&table_features])),
        (19, multipart(0, &[&[b'y'; 1056]])),
        (19, multipart(1, &[&flow_stats, &flow_stats])),
        (19, multipart(4, &[&[8; 112], &[9; 112]])),
        (19, multipart(6, &[&[0, 56], &[1; 38], &[2; 16]])),
        (19, multipart(7, &[&[0, 40, 1, 0, 0, 0, 0, 5], &bucket])),
        (19, multipart(9, &[&[0, 0, 0, 1, 0, 56], &[0; 34], &[1; 16]])),
        (19, multipart(10, &[&[0, 40, 0, 1, 0, 0, 0, 1], drop_band, remark_band])),
        (19, multipart(12, &[&table_features, &table_features])),
        (19, multipart(13, &[&[3; 64]])),
        (19, [&[0xff, 0xff, 0, 1, 0, 0, 0, 0][..], &[1; 8], b"more"].concat()),
        (20, Vec::new()),
        (23, [&[0, 0, 0, 1, 0, 0, 0, 0][..], &queue.concat()].concat()),
        (24, [2; 16].to_vec()),
        (28, [7; 24].to_vec()),
        (29, [b"\0\0\0\x01\0\0\0\x01", &drop_band[..], remark_band].concat()),
    ]
    .into_iter()
    .map(|(kind, body): (u8, Vec<u8>)| {
        let length = (body.len() + 8) as u16;
        [&[4, kind][..], &length.to_be_bytes(), &[0, 0, 0, 9], &body].concat()
    })
    .collect()
}
