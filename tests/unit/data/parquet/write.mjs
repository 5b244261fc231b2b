// Writes the Parquet files of this folder, and the CSV files with the same tables, into the current folder. Needs Node
// and the packages @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), parquet-wasm 0.8.0 (arrow-rs), apache-arrow 21.2.0 and
// hyparquet-writer 0.17.0. README.md says what is in the files.
import { writeFileSync, readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";
import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm";
import { ByteWriter, parquetWrite } from "hyparquet-writer";

const database = await (await DuckDBInstance.create()).connect();
await database.run(`create table mixed as select
    ((i * 37) % 101 - 50)::integer as whole,
    (9007199254740993 + i * i)::bigint as large,
    case when i % 10 <> 3 then (i % 7)::utinyint end as small,
    (i / 10)::float as single,
    case when i % 31 = 7 then 'nan'::double else sqrt(i) end as real,
    i % 3 = 0 as flag,
    case when i % 17 <> 5 then ['Athens', 'Bergen', 'Cádiz, old', ' Delft', 'NA'][1 + i % 5] end as town,
    'code-' || lpad((i % 20)::varchar, 4, '0') as code,
    (i % 50 / 8)::double as half, round(sin(i) * 100, 3) as y
    from range(200) as numbers(i)`);
await database.run(`copy (select * replace (flag::integer as flag, case when not isnan(real) then real end as real)
    from mixed) to 'mixed.csv' (header)`);
for (const codec of ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "brotli"])
    await database.run(`copy mixed to 'duckdb-v1-${codec}.parquet' (format parquet, codec '${codec}')`);
await database.run(`copy mixed to 'duckdb-v2.parquet'
    (format parquet, parquet_version v2, codec 'zstd', dictionary_size_limit 1)`);
await database.run(`create table decimals as select
    (i * 1.37)::decimal(9, 2) as short,
    case when i % 9 <> 4 then (i * i * -0.0123)::decimal(18, 4) end as medium,
    (i * 12345678901234567890.123)::decimal(38, 3) as wide, i % 2 as y
    from range(60) as numbers(i)`);
await database.run("copy decimals to 'decimals.csv' (header)");
await database.run("copy decimals to 'decimals.parquet' (format parquet, codec 'zstd')");
await database.run(`create table refused as select i::double as x, date '2024-01-31' + i::integer as day,
    timestamp '2024-01-31' + to_hours(i) as moment, [i, i + 1] as list, {a: i, b: i} as struct,
    uuid() as id, i % 2 as y from range(20) as numbers(i)`);
await database.run("copy refused to 'refused.parquet' (format parquet)");
await database.run("set force_mbedtls_unsafe = 'true'");
await database.run("pragma add_parquet_key('key', '0123456789112345')");
await database.run("copy decimals to 'encrypted.parquet' (format parquet, encryption_config {footer_key: 'key'})");

// The same table, from the CSV file, for the two other writers.
const rows = await (await database.run("select * from mixed")).getRowObjectsJS();
const column = (name) => rows.map((row) => row[name]);
const types = {
    whole: new arrow.Int32(), large: new arrow.Int64(), small: new arrow.Uint8(), single: new arrow.Float32(),
    real: new arrow.Float64(), flag: new arrow.Bool(), town: new arrow.Utf8(), code: new arrow.Utf8(),
    half: new arrow.Float16(), y: new arrow.Float64(),
};
const vectors = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, arrow.vectorFromArray(column(name), type)]));
const { Encoding, Compression, WriterVersion, WriterPropertiesBuilder, Table, writeParquet } = parquet;
function write_arrow(name, columns, properties) {
    const table = Table.fromIPCStream(arrow.tableToIPC(new arrow.Table(columns), "stream"));
    writeFileSync(name, writeParquet(table, properties.build()));
}
write_arrow("arrow-v1.parquet", vectors, new WriterPropertiesBuilder().setWriterVersion(WriterVersion.V1)
    .setCompression(Compression.SNAPPY).setMaxRowGroupSize(64).setDataPageSizeLimit(100).setWriteBatchSize(16));
write_arrow("arrow-v2.parquet", vectors, new WriterPropertiesBuilder().setWriterVersion(WriterVersion.V2)
    .setCompression(Compression.LZ4_RAW).setDataPageSizeLimit(200).setWriteBatchSize(16).setDictionaryEnabled(false)
    .setColumnEncoding("single", Encoding.BYTE_STREAM_SPLIT).setColumnEncoding("large", Encoding.DELTA_BINARY_PACKED)
    .setColumnEncoding("code", Encoding.DELTA_BYTE_ARRAY).setColumnEncoding("town", Encoding.DELTA_LENGTH_BYTE_ARRAY)
    .setColumnEncoding("flag", Encoding.RLE).setColumnCompression("code", Compression.GZIP));
const towns = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());
write_arrow("arrow-pandas.parquet",
    { ...vectors, town: arrow.vectorFromArray(column("town"), towns), "__index_level_0__": arrow.vectorFromArray(rows.map((_, i) => BigInt(i)), new arrow.Int64()) },
    new WriterPropertiesBuilder().setCompression(Compression.ZSTD));
write_arrow("arrow-empty.parquet", { x: arrow.vectorFromArray([], new arrow.Float64()), y: arrow.vectorFromArray([], new arrow.Float64()) },
    new WriterPropertiesBuilder());

const writer = new ByteWriter();
parquetWrite({
    writer, codec: "SNAPPY", rowGroupSize: 90, pageSize: 300,
    columnData: [
        { name: "whole", data: column("whole"), type: "INT32", encoding: "DELTA_BINARY_PACKED" },
        { name: "large", data: column("large"), type: "INT64", encoding: "BYTE_STREAM_SPLIT" },
        { name: "small", data: column("small"), type: "INT32", nullable: true },
        { name: "single", data: column("single"), type: "FLOAT", encoding: "PLAIN" },
        { name: "real", data: column("real"), type: "DOUBLE", encoding: "BYTE_STREAM_SPLIT" },
        { name: "flag", data: column("flag"), type: "BOOLEAN", encoding: "RLE" },
        { name: "town", data: column("town"), type: "STRING", nullable: true, encoding: "DELTA_LENGTH_BYTE_ARRAY" },
        { name: "code", data: column("code"), type: "STRING", encoding: "DELTA_BYTE_ARRAY" },
        { name: "half", data: column("half"), type: "FLOAT16" },
        { name: "y", data: column("y"), type: "DOUBLE" },
    ],
});
writeFileSync("hyparquet.parquet", writer.getBytes());
