// The tables of the object: what each is for, how many rows it has, and the rows themselves, page by page.
import { useState } from "react";
import type { StateView, TableValue, TableView } from "../src/features/inspection/index.ts";
import { bytes, count, printable } from "./format.ts";
import { Empty, Loading, useView } from "./parts.tsx";
import type { ViewSource } from "./source.ts";
import { purposeOf } from "./table-purposes.ts";

/** The agent counts up to here. */
const COUNTED_ROWS = 10_000;
const PAGE_ROWS = 50;

/** Tables with rows first: an agent has many that it does not use. */
export function Tables({ disk, source }: { disk: StateView["disk"]; source: ViewSource }) {
  const [open, setOpen] = useState<string>();
  const used = disk.tables.filter(({ rows }) => rows > 0).toSorted((a, b) => b.rows - a.rows);
  const unused = disk.tables.filter(({ rows }) => rows === 0).map(({ name }) => name);
  return (
    <section className="panel tables">
      <h3>
        {`On disk: ${bytes(disk.bytes)}`} <small>{disk.tables.length} tables</small>
      </h3>
      <table>
        <thead>
          <tr>
            <th>Table</th>
            <th className="number">Rows</th>
            <th>What it is for</th>
          </tr>
        </thead>
        <tbody>
          {used.map(({ name, rows }) => (
            <tr key={name}>
              <td>
                <button
                  className="link mono"
                  aria-expanded={name === open}
                  disabled={source.isFile}
                  onClick={() => setOpen(name === open ? undefined : name)}
                >
                  {printable(name)}
                </button>
              </td>
              <td className="number">{rows > COUNTED_ROWS ? "over 10,000" : count(rows)}</td>
              <td className="faint">{purposeOf(name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {unused.length > 0 && <p className="faint">{`Without rows: ${unused.join(", ")}.`}</p>}
      {open !== undefined && !source.isFile && <Rows key={open} name={open} source={source} />}
    </section>
  );
}

function Rows({ name, source }: { name: string; source: ViewSource }) {
  const [from, setFrom] = useState(0);
  const view = `table?name=${encodeURIComponent(name)}&from=${from}&limit=${PAGE_ROWS}`;
  const { value: table, error } = useView<TableView>(source, view, 0);
  if (!table) return error === undefined ? <Loading what="rows" /> : <Empty title="No rows to show">{error}</Empty>;
  return (
    <div className="rows">
      <p className="actions">
        <b className="mono">{printable(name)}</b>
        <span className="faint">
          {`rows ${count(from + 1)} to ${count(from + table.rows.length)}${table.isNewestFirst ? ", newest first" : ""}; secrets masked`}
        </span>
        <button disabled={from === 0} onClick={() => setFrom(Math.max(0, from - PAGE_ROWS))}>
          Newer
        </button>
        <button disabled={table.next === undefined} onClick={() => setFrom(table.next ?? from)}>
          Older
        </button>
      </p>
      <div className="scrolled" tabIndex={0} role="region" aria-label={`Rows of ${name}`}>
        <table>
          <thead>
            <tr>
              {table.columns.map((column, index) => (
                <th key={index} title={column.type}>
                  {printable(column.name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => (
              <tr key={index}>
                {row.map((value, column) => (
                  <td key={column} className="mono">
                    <Value value={value} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** A number that is a time of these years is shown as one when it is pointed at. */
const TIMES = { from: 1e12, to: 4e12 };

function Value({ value }: { value: TableValue }) {
  if (value === null) return <i className="faint">null</i>;
  if (typeof value === "number") {
    const isTime = value > TIMES.from && value < TIMES.to;
    return isTime ? <span title={new Date(value).toISOString()}>{value}</span> : value;
  }
  if ("bytes" in value) return <i className="faint">{bytes(value.bytes)} of bytes</i>;
  return (
    <>
      {printable(value.text)}
      {value.isCut && <i className="faint">{`… (${count(value.chars)})`}</i>}
    </>
  );
}
