// "Files": the workspace of the conversation as a tree, one file beside it, and files dropped onto it.
import { useCallback, useMemo, useRef, useState } from "react";
import { countText } from "../amounts.ts";
import { IconButton, useDrop } from "everthink/react";
import type { PanelViewProps } from "../panel/views.ts";
import { FilePreview } from "./file-preview.tsx";
import { FileTree } from "./file-tree.tsx";
import { nameOf, parentOf, treeRows } from "./tree-rows.ts";
import { fileAddress, putFile, useFiles } from "./use-files.ts";

export function FilesView({ id, chat }: PanelViewProps) {
  const { call, connection, fileChanges } = chat;
  const read = useCallback(() => call("listFiles", []), [call]);
  const readLastChange = useCallback((path: string) => call("lastChange", [path]), [call]);
  const listing = useFiles({ isConnected: connection === "open", changes: fileChanges, read });
  const entries = useMemo(() => listing?.entries ?? [], [listing]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string>();
  const rows = useMemo(() => treeRows(entries, closed), [entries, closed]);
  const chosen = entries.find(({ path }) => path === selected);
  const directory = chosen === undefined ? "/" : chosen.type === "directory" ? chosen.path : parentOf(chosen.path);
  const upload = useUpload(id, setSelected);
  const drop = useDrop((files) => void upload.add(files, directory));
  const view = useRef<HTMLDivElement>(null);
  const toggle = (path: string) =>
    setClosed((before) =>
      before.has(path) ? new Set([...before].filter((each) => each !== path)) : new Set([...before, path])
    );
  const goBack = () => {
    view.current?.querySelector<HTMLElement>("[role=treeitem][aria-selected=true]")?.focus();
    setSelected(undefined);
  };
  const file = chosen?.type === "directory" ? undefined : chosen;
  return (
    <div className="files" ref={view} data-file={file !== undefined || undefined} {...drop.handlers}>
      <div className="files-list">
        <div className="files-bar">
          <span>{countLine(entries.length, listing?.left ?? 0)}</span>
          <UploadButton onFiles={(files) => void upload.add(files, directory)} />
        </div>
        {upload.problem !== undefined && (
          <p className="files-problem" role="alert">
            {upload.problem}
          </p>
        )}
        {listing !== undefined && entries.length === 0 ? (
          <p className="panel-empty">No files yet. Ask for one, or drop some here.</p>
        ) : (
          <FileTree rows={rows} selected={selected} onSelect={setSelected} onToggle={toggle} />
        )}
      </div>
      {file !== undefined && (
        <FilePreview
          key={file.path}
          file={file}
          address={fileAddress(id, file.path)}
          readLastChange={readLastChange}
          onBack={goBack}
        />
      )}
      {drop.isOver && <div className="think-drop-veil">Drop files to put them into {directory}</div>}
    </div>
  );
}

function countLine(shown: number, left: number): string {
  if (shown === 0) return "";
  const all = `${countText(shown + left)} ${shown + left === 1 ? "entry" : "entries"}`;
  return left === 0 ? all : `${countText(shown)} of ${all}`;
}

function UploadButton({ onFiles }: { onFiles(files: File[]): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="upload" label="Upload files" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
    </>
  );
}

/** One after the other; the last is shown. */
function useUpload(id: string, onDone: (path: string) => void) {
  const [problem, setProblem] = useState<string>();
  const add = async (files: readonly File[], directory: string) => {
    setProblem(undefined);
    for (const file of files) {
      const path = `${directory === "/" ? "" : directory}/${nameOf(file.name)}`;
      const why = await putFile(fileAddress(id, path), file);
      if (why === undefined) onDone(path);
      else setProblem(why);
    }
  };
  return { problem, add };
}
