// A picture from the disk, the clipboard or a drop, as it goes into a message: a data URL, made smaller where it is
// large. What cannot be used is refused with a sentence for the person who chose it.

export interface AttachedImage {
  readonly id: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly url: string;
}

export const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
export const IMAGES_PER_MESSAGE = 4;
/** Larger pictures are drawn smaller. */
const SCALE_ABOVE_BYTES = 1_000_000;
/** What is larger even then is refused. */
const MOST_BYTES = 5_000_000;
/** Longest sides that are tried, until the picture is small enough. */
const SIDES_PX = [2048, 1536, 1024];
const QUALITY = 0.85;

export type ReadImage =
  { readonly ok: true; readonly image: AttachedImage } | { readonly ok: false; readonly why: string };

export async function readImage(file: File): Promise<ReadImage> {
  const filename = file.name || "picture";
  if (!IMAGE_TYPES.includes(file.type))
    return { ok: false, why: `${filename} is not a PNG, JPEG, WebP or GIF picture.` };
  try {
    const blob = file.size > SCALE_ABOVE_BYTES ? await scaledDown(file) : file;
    if (blob.size > MOST_BYTES) return { ok: false, why: `${filename} is larger than 5 MB.` };
    const image = { id: crypto.randomUUID(), filename, mediaType: blob.type, url: await dataUrl(blob) };
    return { ok: true, image };
  } catch {
    return { ok: false, why: `${filename} could not be read.` };
  }
}

async function scaledDown(file: File): Promise<Blob> {
  // A canvas would show only the first picture of an animation.
  if (file.type === "image/gif") return file;
  const bitmap = await createImageBitmap(file);
  let smallest: Blob = file;
  for (const side of SIDES_PX) {
    const drawn = await drawAt(bitmap, side, file.type === "image/png" ? "image/webp" : file.type);
    if (drawn.size < smallest.size) smallest = drawn;
    if (smallest.size <= SCALE_ABOVE_BYTES) break;
  }
  bitmap.close();
  return smallest;
}

async function drawAt(bitmap: ImageBitmap, side: number, mediaType: string): Promise<Blob> {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser cannot draw.");
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    const done = (blob: Blob | null) => (blob ? resolve(blob) : reject(new Error("The picture could not be written.")));
    canvas.toBlob(done, mediaType, QUALITY);
  });
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("The picture could not be read.")));
    reader.readAsDataURL(blob);
  });
}
