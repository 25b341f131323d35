// The few places where the provider specifications differ, for what a model sends.
import type {
  CommonContent,
  CommonPart,
  FileData,
  FileStreamPart,
  FinishPart,
  FinishReason,
  FinishReasonV3,
  NeutralContent,
  NeutralPart
} from "./stream-part.ts";

interface InlineData {
  type: "data";
  data: FileData;
}

export type StreamPartV3 = CommonPart | FileStreamPart<FileData> | FinishPart<FinishReasonV3>;
export type StreamPartV4 = CommonPart | FileStreamPart<InlineData> | FinishPart<FinishReason>;
export type ContentV3 = NeutralContent;
export type ContentV4 = CommonContent | FileStreamPart<InlineData>;

export interface Encoding<Part, Content, Reason> {
  part(part: NeutralPart): Part;
  content(content: NeutralContent): Content;
  reason(reason: FinishReason): Reason;
}

export const encodingV3: Encoding<StreamPartV3, ContentV3, FinishReasonV3> = {
  part: (part) =>
    part.type === "finish"
      ? { ...part, finishReason: { ...part.finishReason, unified: reasonV3(part.finishReason.unified) } }
      : part,
  content: (content) => content,
  reason: reasonV3
};

export const encodingV4: Encoding<StreamPartV4, ContentV4, FinishReason> = {
  part: (part) => (part.type === "file" ? fileV4(part) : part),
  content: (content) => (content.type === "file" ? fileV4(content) : content),
  reason: (reason) => reason
};

function fileV4(file: FileStreamPart<FileData>): FileStreamPart<InlineData> {
  return { ...file, data: { type: "data", data: file.data } };
}

/** v3 has no word for an interrupted stream. */
function reasonV3(reason: FinishReason): FinishReasonV3 {
  return reason === "interrupted" ? "other" : reason;
}
