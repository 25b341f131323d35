import { Librarian, type Passage } from "./librarian.ts";

interface Env {
  VECTORS: VectorizeIndex;
}

export class Archivist extends Librarian<Env> {
  override async store(title: string, passages: Passage[], vectors: number[][]) {
    const old = this.sql<{ id: string }>`SELECT id FROM passages WHERE title = ${title}`;
    const entries = passages.map(({ id }, index) => ({ id, namespace: this.name, values: vectors[index] ?? [] }));
    await this.env.VECTORS.upsert(entries);
    // From here on the new passages are found. What a crash leaves in the index has no text, and is left out below.
    await super.store(title, passages, []);
    if (old.length > 0) await this.env.VECTORS.deleteByIds(old.map(({ id }) => id));
  }

  override async nearest(vector: number[], count: number) {
    const { matches } = await this.env.VECTORS.query(vector, { topK: count, namespace: this.name });
    return matches.flatMap(({ id, score }) =>
      this.sql<Passage>`SELECT id, title, text FROM passages WHERE id = ${id}`.map((passage) => ({
        ...passage,
        similarity: score
      }))
    );
  }
}
