// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "check.h"

void check_table(const struct asap_table *table)
{
	u32 i;

	for (i = 0; i < table->nr; i++) {
		CHECK(!i || table->ent[i - 1].vpn < table->ent[i].vpn);
		CHECK(table->ent[i].state <= ASAP_TARGET);
		CHECK(table->ent[i].hist);
		CHECK(!table->ent[i].seen);
	}
}

void check_plan(const u64 *plan, u32 nr, u32 targets, u32 batch,
		const struct asap_table *tables, u32 nr_tables)
{
	unsigned char *met[16] = {};
	u32 i, want = 0, last = 0;

	CHECK(nr_tables <= 16);
	for (i = 0; i < nr_tables; i++) {
		met[i] = calloc(tables[i].nr + 1, 1);
		CHECK(met[i]);
		want += tables[i].nr;
	}
	CHECK(nr == want);
	CHECK(targets <= nr);
	for (i = 0; i < nr; i++) {
		u32 t = asap_plan_table(plan[i]), e = asap_plan_index(plan[i]);
		const struct asap_ent *ent;

		CHECK(t < nr_tables && e < tables[t].nr);
		CHECK(!met[t][e]);
		met[t][e] = 1;
		ent = &tables[t].ent[e];
		CHECK((ent->state == ASAP_TARGET) == (i < targets));
		/* Inside a batch by address, from batch to batch by time. */
		if (i && i < targets && i % batch)
			CHECK(plan[i - 1] < plan[i]);
		if (i < targets && !(i % batch)) {
			u32 end = i + batch < targets ? i + batch : targets, j;
			u32 low = ~0U, high = 0;

			for (j = i; j < end; j++) {
				t = asap_plan_table(plan[j]);
				ent = &tables[t].ent[asap_plan_index(plan[j])];
				low = ent->rank / 2 < low ? ent->rank / 2 : low;
				high = ent->rank / 2 > high ? ent->rank / 2 : high;
			}
			CHECK(low >= last);
			last = high;
		}
	}
	for (i = 0; i < nr_tables; i++)
		free(met[i]);
}

/* Every target is in one extent, which knows it, and no extent is too long. */
void check_extents(const struct asap_table *table, u32 gap, u32 max)
{
	struct asap_extent *ext = malloc((table->nr + 1) * sizeof(*ext));
	u32 i, e, nr, targets = 0, covered = 0;

	CHECK(ext);
	for (i = 0; i < table->nr; i++)
		targets += table->ent[i].state == ASAP_TARGET;
	nr = asap_policy_extents(table, gap, max, ext);
	CHECK(nr <= targets);
	for (e = 0; e < nr; e++) {
		u64 end = ext[e].vpn + ext[e].nr;

		CHECK(ext[e].nr && ext[e].nr <= max);
		CHECK(!e || ext[e - 1].rank <= ext[e].rank);
		CHECK(table->ent[ext[e].first].vpn == ext[e].vpn);
		CHECK(ext[e].vpn >> ASAP_FILE_SHIFT ==
		      (end - 1) >> ASAP_FILE_SHIFT);
		for (i = ext[e].first; i < table->nr; i++) {
			if (table->ent[i].vpn >= end)
				break;
			covered += table->ent[i].state == ASAP_TARGET;
		}
	}
	CHECK(covered == targets);
	free(ext);
}

void window(const struct asap_params *params, struct asap_model *model,
	    struct asap_table *table, struct asap_touch *touch, u32 nr,
	    struct asap_outcome *out)
{
	struct asap_outcome mine = {};
	struct asap_table new = {};
	u32 i, distinct, room, found, fetched = 0;

	for (i = 0; i < table->nr; i++)
		fetched += !!(table->ent[i].seen & ASAP_SEEN_FETCHED);

	distinct = asap_policy_touches(touch, nr);
	CHECK(distinct <= nr);
	for (i = 1; i < distinct; i++)
		CHECK(touch[i - 1].vpn < touch[i].vpn);

	room = asap_policy_account(table, touch, distinct, &mine);
	CHECK(room >= table->nr && room >= distinct);
	CHECK(room <= table->nr + distinct);
	CHECK(mine.fetched == fetched);
	CHECK(mine.used + mine.wasted + mine.lost == mine.fetched);
	CHECK(mine.faulted <= distinct);
	for (i = 0, found = 0; i < distinct; i++)
		found += touch[i].found;
	CHECK(mine.faulted <= distinct - found);

	/* Exactly the room that was asked for, so that ASan sees one too many. */
	new.ent = malloc((room ? room : 1) * sizeof(*new.ent));
	CHECK(new.ent);
	asap_policy_harvest(params, model, table, touch, distinct, nr, &new,
			    &mine);
	CHECK(new.nr + mine.dropped == room);
	CHECK(mine.targets + mine.candidates == new.nr);
	check_table(&new);
	for (i = 0; i < 256; i++)
		CHECK(model->hits[i] <= model->trials[i]);

	free(table->ent);
	*table = new;
	for (i = 0; i < sizeof(mine) / sizeof(u64); i++)
		((u64 *)out)[i] += ((u64 *)&mine)[i];
}
