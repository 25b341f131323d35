// One block of a text: paragraph, heading, list, table, quote, code. Headings are shown two levels lower than they are
// written, since the page has its own above them.
import type { ReactNode } from "react";
import type { MarkedToken, Token, Tokens } from "marked";
import { isOwnToken } from "./blocks.ts";
import { CodeBlock } from "./code-block.tsx";
import { Inline } from "./inline.tsx";

export function BlockElement({ token }: { token: MarkedToken }): ReactNode {
  switch (token.type) {
    case "paragraph":
      return (
        <p>
          <Inline tokens={token.tokens} />
        </p>
      );
    case "heading":
      return <Heading depth={token.depth} tokens={token.tokens} />;
    case "code":
      return <CodeBlock code={token.text} language={token.lang?.trim().split(/\s/)[0]} />;
    case "list":
      return <List list={token} />;
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={token.tokens} />
        </blockquote>
      );
    case "table":
      return <Table table={token} />;
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw.trim()}</p>;
    case "text":
      return <Inline tokens={token.tokens ?? [token]} />;
    case "space":
    case "def":
      return null;
    default:
      return token.raw;
  }
}

function Blocks({ tokens }: { tokens: readonly Token[] }): ReactNode {
  return tokens.filter(isOwnToken).map((token, index) => <BlockElement key={index} token={token} />);
}

function Heading({ depth, tokens }: { depth: number; tokens: readonly Token[] }) {
  const content = <Inline tokens={tokens} />;
  if (depth <= 1) return <h3>{content}</h3>;
  if (depth === 2) return <h4>{content}</h4>;
  return depth === 3 ? <h5>{content}</h5> : <h6>{content}</h6>;
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? "think-task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label="Done" />}
      <Blocks tokens={item.tokens.filter(({ type }) => type !== "checkbox")} />
    </li>
  ));
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  const cell = (tokens: readonly Token[]) => <Inline tokens={tokens} />;
  const style = (align: Tokens.TableCell["align"]) => (align === null ? undefined : { textAlign: align });
  return (
    <div className="think-table-scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map(({ tokens, align }, index) => (
              <th key={index} scope="col" style={style(align)}>
                {cell(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, place) => (
            <tr key={place}>
              {row.map(({ tokens, align }, index) => (
                <td key={index} style={style(align)}>
                  {cell(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
