"""Compiled distances of one left point to many right ones: the similarities that kernels are profiles of.

The loops of ``_compiled`` call these and the profiles by their address, see ``_row_calls``. What a loop calls by
address is not compiled into it: each is compiled once, and only those of the kernels in use.

The left point comes as ``x``, (d,), the right points feature by feature, (d, m): every inner loop runs over contiguous
memory and is vectorised. None of these raises.
"""

from skewridge.linalg._compiling import inner


@inner(fastmath={"contract"})
def squares(x, right, start, stop, row):
    """Squared distances; features come in fours, so that the row is read and written less often."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            t0, t1, t2, t3 = u0 - z0[j], u1 - z1[j], u2 - z2[j], u3 - z3[j]
            row[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        f += 4
    if f + 2 <= d:
        u0, u1, z0, z1 = x[f], x[f + 1], right[f, start:stop], right[f + 1, start:stop]
        for j in range(m):
            t0, t1 = u0 - z0[j], u1 - z1[j]
            row[j] += t0 * t0 + t1 * t1
        f += 2
    if f < d:
        u0, z0 = x[f], right[f, start:stop]
        for j in range(m):
            t0 = u0 - z0[j]
            row[j] += t0 * t0


@inner(fastmath={"contract"})
def absolutes(x, right, start, stop, row):
    """Absolute distances, features in fours as in squares."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            row[j] += (abs(u0 - z0[j]) + abs(u1 - z1[j])) + (abs(u2 - z2[j]) + abs(u3 - z3[j]))
        f += 4
    for g in range(f, d):
        u0, z0 = x[g], right[g, start:stop]
        for j in range(m):
            row[j] += abs(u0 - z0[j])


@inner(fastmath={"contract"})
def squares_of_two(x, y, right, start, stop, row, other):
    """Squares of two left points at once: what is read of the right points, from memory mostly, serves both."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
        other[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        v0, v1, v2, v3 = y[f], y[f + 1], y[f + 2], y[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            a, b, c, e = z0[j], z1[j], z2[j], z3[j]
            s0, s1, s2, s3 = u0 - a, u1 - b, u2 - c, u3 - e
            t0, t1, t2, t3 = v0 - a, v1 - b, v2 - c, v3 - e
            row[j] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
            other[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        f += 4
    for g in range(f, d):
        u0, v0, z0 = x[g], y[g], right[g, start:stop]
        for j in range(m):
            s0, t0 = u0 - z0[j], v0 - z0[j]
            row[j] += s0 * s0
            other[j] += t0 * t0


@inner(fastmath={"contract"})
def absolutes_of_two(x, y, right, start, stop, row, other):
    """Absolute distances of two left points at once, as squares_of_two."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
        other[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        v0, v1, v2, v3 = y[f], y[f + 1], y[f + 2], y[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            a, b, c, e = z0[j], z1[j], z2[j], z3[j]
            row[j] += (abs(u0 - a) + abs(u1 - b)) + (abs(u2 - c) + abs(u3 - e))
            other[j] += (abs(v0 - a) + abs(v1 - b)) + (abs(v2 - c) + abs(v3 - e))
        f += 4
    for g in range(f, d):
        u0, v0, z0 = x[g], y[g], right[g, start:stop]
        for j in range(m):
            row[j] += abs(u0 - z0[j])
            other[j] += abs(v0 - z0[j])


@inner(fastmath={"contract"})
def inner_products(x, right, start, stop, row):
    """Inner products, for the polynomial kernel."""
    m = stop - start
    for j in range(m):
        row[j] = 0.0
    for f in range(x.size):
        u, z = x[f], right[f, start:stop]
        for j in range(m):
            row[j] += u * z[j]


@inner(fastmath={"contract"})
def products_of_minima(x, right, start, stop, row):
    """Products of 1 + the smaller of two features: the sobolev kernel itself."""
    m, one = stop - start, row.dtype.type(1)
    for j in range(m):
        row[j] = 1.0
    for f in range(x.size):
        u, z = x[f], right[f, start:stop]
        for j in range(m):
            row[j] *= one + min(u, z[j])


@inner(fastmath={"contract", "reassoc"})
def weighted_absolutes(x, right, start, row, out):
    """Add sum_j row_j |x_f - z_jf| to every feature's sum; in fours, of which the last may hold its last feature again.

    A second loop for features that are left over would take as long to compile as this one.
    """
    m, last = right.shape[1] - start, x.size - 1
    for f in range(0, x.size, 4):
        f1, f2, f3 = min(f + 1, last), min(f + 2, last), min(f + 3, last)
        u0, u1, u2, u3 = x[f], x[f1], x[f2], x[f3]
        z0, z1, z2, z3 = right[f, start:], right[f1, start:], right[f2, start:], right[f3, start:]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            w = row[j]
            s0 += w * abs(u0 - z0[j])
            s1 += w * abs(u1 - z1[j])
            s2 += w * abs(u2 - z2[j])
            s3 += w * abs(u3 - z3[j])
        out[f] += s0
        out[f1] += s1 if f + 1 <= last else 0.0
        out[f2] += s2 if f + 2 <= last else 0.0
        out[f3] += s3 if f + 3 <= last else 0.0


@inner(fastmath={"contract", "reassoc"})
def weighted_squares(x, right, start, row, out):
    """Add sum_j row_j (x_f - z_jf)^2 to every feature's sum, as weighted_absolutes."""
    m, last = right.shape[1] - start, x.size - 1
    for f in range(0, x.size, 4):
        f1, f2, f3 = min(f + 1, last), min(f + 2, last), min(f + 3, last)
        u0, u1, u2, u3 = x[f], x[f1], x[f2], x[f3]
        z0, z1, z2, z3 = right[f, start:], right[f1, start:], right[f2, start:], right[f3, start:]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            w, t0, t1, t2, t3 = row[j], u0 - z0[j], u1 - z1[j], u2 - z2[j], u3 - z3[j]
            s0 += w * (t0 * t0)
            s1 += w * (t1 * t1)
            s2 += w * (t2 * t2)
            s3 += w * (t3 * t3)
        out[f] += s0
        out[f1] += s1 if f + 1 <= last else 0.0
        out[f2] += s2 if f + 2 <= last else 0.0
        out[f3] += s3 if f + 3 <= last else 0.0
