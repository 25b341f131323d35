// One file: what is in it, how it differs from what it was before, and the way to have it.
import { useEffect, useState } from "react";
import type { FileEntry, LastChange } from "../../shared/demo.ts";
import { sizeText } from "../amounts.ts";
import { DiffView, Icon } from "everthink/react";
import { nameOf } from "./tree-rows.ts";

/** Of a text; the rest is for the download. */
const SHOWN_BYTES = 100_000;

interface FilePreviewProps {
  file: FileEntry;
  address: string;
  readLastChange(path: string): Promise<LastChange | null>;
  onBack(): void;
}

export function FilePreview({ file, address, readLastChange, onBack }: FilePreviewProps) {
  const [isChangeShown, setChangeShown] = useState(false);
  const change = useLastChange(file, readLastChange);
  const hasDiff = change !== null && change !== undefined && change.diff !== "";
  return (
    <section className="file-preview" aria-label={`File ${file.path}`}>
      <div className="file-head">
        <button type="button" className="think-icon-button file-back" aria-label="Back to the files" onClick={onBack}>
          <Icon name="left" />
        </button>
        <div className="file-title">
          <h3 title={file.path}>{nameOf(file.path)}</h3>
          <p>
            {sizeText(file.size)}
            {file.mimeType !== "" && ` · ${file.mimeType}`}
          </p>
        </div>
        <a
          className="think-icon-button"
          href={address}
          download={nameOf(file.path)}
          aria-label="Download"
          title="Download"
        >
          <Icon name="download" />
        </a>
      </div>
      {hasDiff && (
        <div className="file-views" role="group" aria-label="What is shown">
          <button type="button" aria-pressed={!isChangeShown} onClick={() => setChangeShown(false)}>
            Content
          </button>
          <button type="button" aria-pressed={isChangeShown} onClick={() => setChangeShown(true)}>
            Last change
          </button>
        </div>
      )}
      {hasDiff && isChangeShown ? (
        <DiffView diff={change.diff} label="Last change" />
      ) : (
        <Content key={`${file.path} ${file.updatedAt}`} file={file} address={address} />
      )}
    </section>
  );
}

function Content({ file, address }: { file: FileEntry; address: string }) {
  const { mimeType, size } = file;
  if (mimeType.startsWith("image/") && mimeType !== "image/svg+xml")
    return <img className="file-picture" src={`${address}?${file.updatedAt}`} alt={nameOf(file.path)} />;
  if (size === 0) return <p className="panel-empty">It is empty.</p>;
  if (!isText(mimeType)) return <p className="panel-empty">No preview. Download it to open it.</p>;
  return <TextContent file={file} address={address} />;
}

function TextContent({ file, address }: { file: FileEntry; address: string }) {
  const [text, setText] = useState<string>();
  useEffect(() => {
    const leaving = new AbortController();
    const headers = { range: `bytes=0-${SHOWN_BYTES - 1}` };
    fetch(address, { headers, signal: leaving.signal })
      .then(async (response) => (response.ok ? await response.text() : "It cannot be read now."))
      .then(setText, () => undefined);
    return () => leaving.abort();
  }, [address]);
  return (
    <pre className="file-text" tabIndex={0} aria-label="Content">
      {text ?? ""}
      {file.size > SHOWN_BYTES && "\n…"}
    </pre>
  );
}

function isText(mimeType: string): boolean {
  return /^text\/|json$|xml$|javascript$|typescript$|yaml$/.test(mimeType);
}

/** Undefined until it is known. */
function useLastChange({ path, updatedAt }: FileEntry, read: FilePreviewProps["readLastChange"]) {
  const [found, setFound] = useState<{ readonly of: string; readonly change: LastChange | null }>();
  const of = `${path} ${updatedAt}`;
  useEffect(() => {
    let isLeft = false;
    read(path).then(
      (change) => !isLeft && setFound({ of, change }),
      // The connection was lost; with it back the file is shown anew.
      () => undefined
    );
    return () => {
      isLeft = true;
    };
  }, [of, path, read]);
  return found?.of === of ? found.change : undefined;
}
