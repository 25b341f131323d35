// Text with emphasis, code and links, as React elements. HTML of the model is shown as the characters it is, and
// pictures become links: a picture that loads by itself would tell its server who reads along.
import type { ReactNode } from "react";
import type { MarkedToken, Token } from "marked";
import { isOwnToken } from "./blocks.ts";
import { decodeEntities } from "./entities.ts";
import { safeLink } from "./safe-link.ts";

export function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  return tokens?.filter(isOwnToken).map((token, index) => <InlineToken key={index} token={token} />);
}

function InlineToken({ token }: { token: MarkedToken }): ReactNode {
  switch (token.type) {
    case "strong":
      return (
        <strong>
          <Inline tokens={token.tokens} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      );
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return (
        <Link target={token.href}>
          <Inline tokens={token.tokens} />
        </Link>
      );
    case "image":
      return <Link target={token.href}>{token.text || token.href}</Link>;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw.trim()) ? <br /> : token.raw;
    case "escape":
      return decodeEntities(token.text);
    case "text":
      return token.tokens ? <Inline tokens={token.tokens} /> : decodeEntities(token.text);
    default:
      return token.raw;
  }
}

function Link({ target, children }: { target: string; children: ReactNode }) {
  const href = safeLink(target);
  if (href === undefined) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
